"""Pages of our own making, with the truth about them: which words are the content, and which are all around it.

A page is a layout (how its markup is written) with a kind of content in one of twelve languages. The layouts are those
that extractors meet: `article` and `main`, named and unnamed `div`s, tables for layout, text cut by `<br>` alone. Around
the content stand menus, a notice about cookies, teasers, tags, comments, a footer. Everything is drawn from one seed.
"""

import html
import random

# A few sentences for each language; a text is drawn from them, with numbers and names of its own so that no two are alike.
SENTENCES = {
    "en": """The river rose by {n} centimetres during the night, and the lower road was closed before dawn.
Nobody in the village of {w} could remember a spring as wet as this one, said the keeper of the bridge.
For most of the winter the workshop stood empty, because its only heater had broken in November.
A second survey found {n} nests on the northern cliff, which is more than in any year since counting began.
If the valve is opened too quickly, the pressure drops and the pump must be started again by hand.
They walked along the canal until the last houses of {w} were out of sight, and then sat down to eat.
The committee will meet again in the first week of next month to decide about the remaining {n} applications.
Whoever reads the old letters today will notice how rarely they speak of money, and how often of the weather.""",
    "de": """Der Fluss stieg in der Nacht um {n} Zentimeter, und die untere Straße wurde noch vor dem Morgen gesperrt.
Niemand im Dorf {w} konnte sich an einen so nassen Frühling erinnern, sagte die Wärterin der Brücke.
Den größten Teil des Winters stand die Werkstatt leer, weil die einzige Heizung im November ausgefallen war.
Eine zweite Zählung fand {n} Nester an der nördlichen Klippe, mehr als in jedem Jahr zuvor.
Wird das Ventil zu schnell geöffnet, so fällt der Druck, und die Pumpe muss von Hand neu gestartet werden.
Sie gingen am Kanal entlang, bis die letzten Häuser von {w} nicht mehr zu sehen waren, und setzten sich zum Essen.
Der Ausschuss trifft sich in der ersten Woche des nächsten Monats wieder, um über die übrigen {n} Anträge zu entscheiden.
Wer die alten Briefe heute liest, bemerkt, wie selten sie von Geld sprechen und wie oft vom Wetter.""",
    "fr": """La rivière est montée de {n} centimètres pendant la nuit, et la route basse a été fermée avant l'aube.
Personne au village de {w} ne se souvenait d'un printemps aussi humide, disait la gardienne du pont.
Pendant presque tout l'hiver, l'atelier est resté vide, car son seul poêle était tombé en panne en novembre.
Un second relevé a trouvé {n} nids sur la falaise du nord, davantage que toutes les années précédentes.
Si la vanne est ouverte trop vite, la pression baisse et il faut relancer la pompe à la main.
Ils ont marché le long du canal jusqu'à ne plus voir les dernières maisons de {w}, puis ils se sont assis pour manger.
La commission se réunira la première semaine du mois prochain pour décider des {n} demandes qui restent.
Qui lit aujourd'hui les vieilles lettres remarque combien elles parlent peu d'argent, et souvent du temps.""",
    "es": """El río subió {n} centímetros durante la noche, y la carretera baja se cerró antes del amanecer.
Nadie en el pueblo de {w} recordaba una primavera tan lluviosa, dijo la guardiana del puente.
Durante casi todo el invierno el taller estuvo vacío, porque su única estufa se había roto en noviembre.
Un segundo recuento encontró {n} nidos en el acantilado del norte, más que en cualquier año anterior.
Si la válvula se abre demasiado rápido, la presión baja y hay que arrancar la bomba otra vez a mano.
Caminaron junto al canal hasta perder de vista las últimas casas de {w}, y entonces se sentaron a comer.
La comisión volverá a reunirse la primera semana del mes que viene para decidir sobre las {n} solicitudes restantes.
Quien lee hoy las cartas antiguas nota qué poco hablan de dinero y cuánto del tiempo.""",
    "it": """Il fiume è salito di {n} centimetri durante la notte, e la strada bassa è stata chiusa prima dell'alba.
Nessuno nel paese di {w} ricordava una primavera così piovosa, diceva la custode del ponte.
Per quasi tutto l'inverno l'officina è rimasta vuota, perché l'unica stufa si era rotta a novembre.
Un secondo conteggio ha trovato {n} nidi sulla scogliera settentrionale, più che in ogni anno precedente.
Se la valvola viene aperta troppo in fretta, la pressione scende e la pompa va riavviata a mano.
Camminarono lungo il canale finché le ultime case di {w} non si videro più, e poi si sedettero a mangiare.
La commissione si riunirà nella prima settimana del mese prossimo per decidere sulle {n} domande rimaste.
Chi legge oggi le vecchie lettere nota quanto poco parlino di soldi e quanto spesso del tempo.""",
    "pt": """O rio subiu {n} centímetros durante a noite, e a estrada de baixo foi fechada antes do amanhecer.
Ninguém na aldeia de {w} se lembrava de uma primavera tão chuvosa, disse a guardiã da ponte.
Durante quase todo o inverno a oficina ficou vazia, porque o único aquecedor tinha avariado em novembro.
Uma segunda contagem encontrou {n} ninhos na falésia do norte, mais do que em qualquer ano anterior.
Se a válvula for aberta depressa demais, a pressão cai e a bomba tem de ser ligada outra vez à mão.
Caminharam ao longo do canal até deixarem de ver as últimas casas de {w}, e então sentaram-se para comer.
A comissão voltará a reunir-se na primeira semana do próximo mês para decidir sobre os {n} pedidos restantes.
Quem lê hoje as cartas antigas repara como falam pouco de dinheiro e tantas vezes do tempo.""",
    "nl": """De rivier steeg in de nacht {n} centimeter, en de lage weg werd nog voor de ochtend afgesloten.
Niemand in het dorp {w} kon zich zo'n natte lente herinneren, zei de wachter van de brug.
Het grootste deel van de winter stond de werkplaats leeg, omdat de enige kachel in november kapot was gegaan.
Een tweede telling vond {n} nesten op de noordelijke klif, meer dan in enig jaar daarvoor.
Als de klep te snel wordt geopend, daalt de druk en moet de pomp met de hand opnieuw worden gestart.
Ze liepen langs het kanaal tot de laatste huizen van {w} uit het zicht waren, en gingen toen zitten om te eten.
De commissie komt in de eerste week van volgende maand weer bijeen om over de overige {n} aanvragen te beslissen.
Wie de oude brieven nu leest, merkt hoe zelden ze over geld gaan en hoe vaak over het weer.""",
    "pl": """Rzeka podniosła się w nocy o {n} centymetrów, a dolną drogę zamknięto jeszcze przed świtem.
Nikt we wsi {w} nie pamiętał tak mokrej wiosny, powiedziała strażniczka mostu.
Przez większą część zimy warsztat stał pusty, ponieważ jedyny piec zepsuł się w listopadzie.
Drugie liczenie wykazało {n} gniazd na północnym klifie, więcej niż w którymkolwiek z poprzednich lat.
Jeśli zawór otworzy się zbyt szybko, ciśnienie spada i pompę trzeba uruchomić ponownie ręcznie.
Szli wzdłuż kanału, aż ostatnie domy {w} zniknęły z oczu, a potem usiedli, żeby zjeść.
Komisja spotka się ponownie w pierwszym tygodniu przyszłego miesiąca, aby zdecydować o pozostałych {n} wnioskach.
Kto czyta dziś stare listy, zauważa, jak rzadko mówią o pieniądzach, a jak często o pogodzie.""",
    "ru": """Ночью река поднялась на {n} сантиметров, и нижнюю дорогу закрыли ещё до рассвета.
Никто в деревне {w} не помнил такой дождливой весны, сказала смотрительница моста.
Почти всю зиму мастерская стояла пустой, потому что единственная печь сломалась в ноябре.
Второй подсчёт нашёл {n} гнёзд на северном утёсе, больше, чем в любой из прошлых лет.
Если открыть клапан слишком быстро, давление падает, и насос приходится запускать снова вручную.
Они шли вдоль канала, пока последние дома {w} не скрылись из виду, а потом сели поесть.
Комиссия соберётся снова в первую неделю следующего месяца, чтобы решить об оставшихся {n} заявках.
Кто читает старые письма сегодня, замечает, как редко в них говорится о деньгах и как часто о погоде.""",
    "tr": """Nehir gece boyunca {n} santimetre yükseldi ve aşağı yol gün doğmadan kapatıldı.
Köprünün bekçisi, {w} köyünde kimsenin bu kadar yağışlı bir bahar hatırlamadığını söyledi.
Tek sobası kasım ayında bozulduğu için atölye kışın büyük bölümünde boş kaldı.
İkinci sayımda kuzey kayalıklarında {n} yuva bulundu; bu, önceki bütün yıllardan daha fazla.
Vana çok hızlı açılırsa basınç düşer ve pompanın elle yeniden çalıştırılması gerekir.
{w} köyünün son evleri gözden kaybolana kadar kanal boyunca yürüdüler, sonra yemek için oturdular.
Kurul, kalan {n} başvuru hakkında karar vermek için gelecek ayın ilk haftasında yeniden toplanacak.
Eski mektupları bugün okuyanlar, paradan ne kadar az, havadan ne kadar çok söz edildiğini fark eder.""",
    "ja": """川は夜のあいだに{n}センチ上がり、下の道は夜明け前に通行止めになった。
{w}の村では、これほど雨の多い春を覚えている人は誰もいないと、橋の番人は話した。
ただ一つの暖房が十一月に壊れたため、工房は冬のほとんどのあいだ空いたままだった。
二度目の調査では北の崖に{n}個の巣が見つかり、これまでのどの年よりも多かった。
弁をあまり早く開けると圧力が下がり、ポンプを手でもう一度動かさなければならない。
彼らは{w}の最後の家が見えなくなるまで運河に沿って歩き、それから座って食事をした。
委員会は残りの{n}件の申請について決めるため、来月の最初の週にもう一度集まる。
古い手紙を今日読む人は、お金の話がどれほど少なく、天気の話がどれほど多いかに気づく。""",
    "ar": """ارتفع النهر خلال الليل بمقدار {n} سنتيمترا، وأغلق الطريق السفلي قبل الفجر.
قالت حارسة الجسر إن أحدا في قرية {w} لا يتذكر ربيعا ماطرا كهذا الربيع.
ظلت الورشة فارغة معظم الشتاء لأن المدفأة الوحيدة تعطلت في شهر نوفمبر.
وجد الإحصاء الثاني {n} عشا على الجرف الشمالي، وهو عدد أكبر من أي سنة سابقة.
إذا فتح الصمام بسرعة كبيرة ينخفض الضغط ويجب تشغيل المضخة من جديد باليد.
ساروا على طول القناة حتى غابت آخر بيوت {w} عن الأنظار، ثم جلسوا ليأكلوا.
ستجتمع اللجنة مرة أخرى في الأسبوع الأول من الشهر القادم لتقرر في الطلبات المتبقية وعددها {n}.
من يقرأ الرسائل القديمة اليوم يلاحظ كم نادرا ما تتحدث عن المال وكم تتحدث عن الطقس.""",
}
# ISO 639-3, as the export writes it.
CODES = {"en": "eng", "de": "deu", "fr": "fra", "es": "spa", "it": "ita", "pt": "por", "nl": "nld", "pl": "pol",
         "ru": "rus", "tr": "tur", "ja": "jpn", "ar": "ara"}
PLACES = ["Arlen", "Brema", "Colda", "Dorvik", "Estal", "Farno", "Gelma", "Hadrin", "Istra", "Jorvan", "Kelso", "Lumbra"]
MENU = ["Home", "About us", "Archive", "Subscribe", "Contact", "Help", "Sign in", "Shop", "Events", "Weather"]
KINDS = ["article", "documentation", "forum", "product", "short", "list"]
LAYOUTS = ["semantic", "named", "unnamed", "table", "breaks"]


class Page:
    """One page: its HTML, and the blocks that are content."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        draw = self.random
        self.kind = KINDS[seed % len(KINDS)]
        self.layout = LAYOUTS[seed // len(KINDS) % len(LAYOUTS)]
        self.language = list(SENTENCES)[seed % 13 % 12] if seed % 2 else "en"
        self.lines = SENTENCES[self.language].splitlines()
        self.title = self.sentence().rstrip(".。")[:70]
        self.date = f"20{draw.randint(12, 25)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        self.content = []
        body = getattr(self, "make_" + self.kind)()
        self.html = self.whole(body)

    def sentence(self):
        return self.random.choice(self.lines).format(n=self.random.randint(3, 9999), w=self.random.choice(PLACES))

    def text(self, low, high):
        joint = "" if self.language == "ja" else " "
        return joint.join(self.sentence() for _ in range(self.random.randint(low, high)))

    def kept(self, text):
        """A text that is content."""
        self.content.append(text)
        return html.escape(text)

    def paragraphs(self, count):
        blocks = [self.kept(self.text(2, 5)) for _ in range(count)]
        if self.layout == "breaks":
            return "<br><br>\n".join(blocks)
        if self.layout == "unnamed" and self.random.random() < 0.5:
            return "\n".join(f"<div>{block}</div>" for block in blocks)
        return "\n".join(f"<p>{block}</p>" for block in blocks)

    def make_article(self):
        parts = [self.paragraphs(self.random.randint(3, 7))]
        if self.random.random() < 0.5:
            parts.append(f"<blockquote><p>{self.kept(self.sentence())}</p></blockquote>")
        parts.append(f"<h2>{self.kept(self.sentence()[:40])}</h2>")
        parts.append(self.paragraphs(self.random.randint(2, 4)))
        return "\n".join(parts)

    def make_documentation(self):
        parts = []
        for number in range(self.random.randint(3, 5)):
            parts.append(f"<h2 id=s{number}>{self.kept(self.sentence()[:30])}</h2>{self.paragraphs(1)}")
            rows = [self.kept(self.sentence()) for _ in range(3)]
            parts.append("<ul>" + "".join(f"<li>{row}</li>" for row in rows) + "</ul>")
            code = f"open --valve {self.random.randint(1, 99)} --slowly --log /var/log/valve-{number}.txt"
            parts.append(f"<pre><code>{self.kept(code)}</code></pre>")
        return "\n".join(parts)

    def make_forum(self):
        posts = []
        for number in range(self.random.randint(3, 6)):
            name = self.random.choice(PLACES).lower()
            posts.append(f"<div class=post><div class=by>{name} · posts: {number * 7}</div>"
                         f"<div class=text>{self.paragraphs(1)}</div><a href=/reply?{number}>Reply</a></div>")
        return "\n".join(posts)

    def make_product(self):
        rows = "".join(f"<tr><th>{self.kept(word)}</th><td>{self.kept(str(self.random.randint(1, 999)) + ' mm')}</td></tr>"
                       for word in self.random.sample(["Width", "Height", "Depth", "Length", "Radius"], 3))
        return f"{self.paragraphs(2)}<table>{rows}</table>"

    def make_short(self):
        return f"<p>{self.kept(self.text(2, 3))}</p>"

    def make_list(self):
        rows = [f"<li><a href=/x{n}>{self.kept(self.sentence())}</a><p>{self.kept(self.sentence())}</p></li>"
                for n in range(self.random.randint(6, 10))]
        return "<ul>" + "".join(rows) + "</ul>"

    def links(self, count, name):
        words = [self.random.choice(MENU) for _ in range(count)]
        return f"<ul class={name}>" + "".join(f"<li><a href=/{name}/{n}>{w}</a></li>" for n, w in enumerate(words)) + "</ul>"

    def teasers(self, count):
        return "".join(f"<div class=teaser><a href=/t{n}><b>{html.escape(self.sentence()[:50])}</b></a>"
                       f"<span>{html.escape(self.sentence())}</span></div>" for n in range(count))

    def comments(self):
        if self.kind != "article" or self.random.random() < 0.5:
            return ""
        said = "".join(f"<div class=comment><b>{self.random.choice(PLACES)}</b><p>{html.escape(self.sentence())}</p></div>"
                       for _ in range(3))
        return f"<section id=comments class=comments><h3>Comments</h3>{said}</section>"

    def whole(self, body):
        title = f"<h1>{html.escape(self.title)}</h1>"
        footer = "© The Gazette 2025. All rights reserved. Privacy policy. Terms of use. Made with care in the valley."
        cookies = "We use cookies to make this site better. By going on you accept our policy about cookies."
        menu, side, tags = self.links(8, "menu"), self.links(6, "side"), self.links(4, "tags")
        meta = f"<p class=byline>{self.date}</p>"
        more = self.teasers(self.random.randint(2, 5))
        if self.layout == "semantic":
            inner = (f"<header><nav>{menu}</nav></header><main><article>{title}{meta}{body}</article>{self.comments()}</main>"
                     f"<aside>{more}{side}</aside><footer>{footer}{tags}</footer><div id=cookie-banner>{cookies}</div>")
        elif self.layout == "named":
            inner = (f"<div id=header class=navbar>{menu}</div><div class=wrapper><div class=sidebar>{side}{more}</div>"
                     f"<div class='post-content entry-content'>{title}{meta}{body}</div>{self.comments()}"
                     f"<div class=related>{self.teasers(3)}</div></div><div class='footer'>{footer}</div>"
                     f"<div class=cookie-notice>{cookies}</div>")
        elif self.layout == "unnamed":
            inner = (f"<div class=a1>{menu}</div><div class=a2><div class=b7>{title}{meta}{body}</div>{self.comments()}"
                     f"<div class=b8>{side}{more}</div></div><div class=a3>{footer}</div><div class=a4>{cookies}</div>")
        elif self.layout == "table":
            inner = (f"<table width=100%><tr><td colspan=3>{menu}</td></tr><tr><td valign=top>{side}</td>"
                     f"<td width=70%>{title}{meta}{body}{self.comments()}</td><td>{more}</td></tr>"
                     f"<tr><td colspan=3><font size=1>{footer}</font></td></tr></table>")
        else:
            inner = (f"<center>{menu}</center><hr>{title}<font size=2>{self.date}</font><br><br>{body}<hr>{self.comments()}"
                     f"{more}<hr><small>{footer}</small>")
        return (f"<!DOCTYPE html><html lang={self.language}><head><meta charset=utf-8><title>{html.escape(self.title)} | The "
                f"Gazette</title><meta property=article:published_time content='{self.date}T08:00:00Z'>"
                f"<link rel=canonical href='/canonical/{self.kind}'><style>p {{ margin: 0 }}</style>"
                f"<script>var tracked = 'not content';</script></head><body>{inner}</body></html>")
